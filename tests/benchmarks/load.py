"""A load from a process of its own, of the standard library alone, so that what is measured is the server.

    python load.py PORT SECONDS CONNECTIONS < request

Each connection is kept, and sends the request again when the response to the one before is there. It prints JSON.
"""

import json
import selectors
import socket
import sys
import time

_MOST = 200_000
_TIMEOUT_S = 30


def _is_whole(response: bytes) -> bool:
    head, end, body = response.partition(b"\r\n\r\n")
    _, has_length, rest = head.lower().partition(b"\r\ncontent-length:")
    if has_length:
        return bool(end) and len(body) >= int(rest.partition(b"\r\n")[0])
    return body.endswith(b"0\r\n\r\n")


def load(port: int, seconds: float, connections: int, request: bytes) -> dict[str, float]:
    """`responses`, how many of them `failed`, the seconds they took, and this process's CPU seconds."""
    selector = selectors.DefaultSelector()
    for _ in range(connections):
        one = socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S)
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(one, selectors.EVENT_READ, bytearray())
    responses, failed, sent = 0, 0, connections
    began, cpu_s = time.perf_counter(), time.process_time()
    for key in selector.get_map().values():
        key.fileobj.sendall(request)
    while responses < sent:
        ready = selector.select(_TIMEOUT_S)
        if not ready:
            raise TimeoutError
        for key, _ in ready:
            received = key.fileobj.recv(1 << 18)
            if not received:
                raise ConnectionResetError
            key.data.extend(received)
            if _is_whole(key.data):
                responses += 1
                failed += key.data[9:10] != b"2"
                key.data.clear()
                if sent < _MOST and time.perf_counter() - began < seconds:
                    key.fileobj.sendall(request)
                    sent += 1
    took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu_s}
    return {"responses": responses, "failed": failed, **took}


if __name__ == "__main__":
    print(json.dumps(load(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.stdin.buffer.read())))  # noqa: T201  its answer
