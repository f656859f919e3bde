"""Webhooks by hand: a receiver that only counts, and a loop of httpx that signs and posts.

    python webhooks_by_hand.py receive PORT
    python webhooks_by_hand.py post URL TIMES

The receiver answers nobody between GET /hold and GET /release, and tells by GET /count how many posts it has answered
since, and how long after the release the last of them was.
"""

import asyncio
import base64
import hmac
import json
import sys
import time
from contextlib import suppress

BODY = {
    "id": "", "type": "payment_intent.succeeded", "timestamp": "2026-01-05T06:00:00Z",
    "data": {"object": {
        "id": "pi_000000000000000000000000", "object": "payment_intent", "amount": 150.00, "currency": "ZMW",
        "status": "succeeded", "payment_method_types": ["mobile_money"], "description": None, "metadata": {},
        "latest_charge": "ch_000000000000000000000000", "created": 1767592800, "livemode": False,
    }, "previous_attributes": {"status": "processing", "latest_charge": None}},
}  # fmt: skip


async def receive(port: int) -> None:
    is_open, count, released, last = asyncio.Event(), 0, 0.0, 0.0
    is_open.set()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count, released, last
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            _, _, length = head.partition(b"\r\ncontent-length:")
            await reader.readexactly(int(length.partition(b"\r\n")[0] or 0))
            if head.startswith(b"post"):
                await is_open.wait()
                count, last = count + 1, time.perf_counter()
            elif b" /hold " in head:
                is_open.clear()
            elif b" /release " in head:
                count, released = 0, time.perf_counter()
                is_open.set()
            answer = json.dumps({"count": count, "seconds": last - released}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))
            if b"connection: close" in head:
                return

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            await respond(reader, writer)
        writer.close()

    await (await asyncio.start_server(connected, "127.0.0.1", port)).serve_forever()


def post(url: str, times: int) -> dict[str, float]:
    """Sign as Standard Webhooks says and post, over one connection that is kept."""
    import httpx

    key = base64.b64decode("bm8gc2VjcmV0LCBidXQgYXMgbG9uZyBhcyBvbmU=")
    with httpx.Client(trust_env=False, headers={"Content-Type": "application/json"}) as client:
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        for number in range(times):
            name, at = f"evt_{number:028}", str(int(time.time()))
            body = json.dumps({**BODY, "id": name}).encode()
            signature = base64.b64encode(hmac.digest(key, f"{name}.{at}.".encode() + body, "sha256")).decode()
            signed = {"webhook-id": name, "webhook-timestamp": at, "webhook-signature": f"v1,{signature}"}
            client.post(url, content=body, headers=signed).raise_for_status()
        return {"cpu_s": time.process_time() - cpu_s, "wall_s": time.perf_counter() - wall_s}


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        asyncio.run(receive(int(sys.argv[2])))
    else:
        print(json.dumps(post(sys.argv[2], int(sys.argv[3]))))  # noqa: T201  its answer
