"""The receiver as a merchant takes it home: three files and the standard library."""

import shutil
import subprocess
import sys
from pathlib import Path

import workbench

PACKAGE = Path(workbench.__file__).parent
TAKEN = ("receiver.py", "errors.py", "domain/signatures.py")
BACKEND = """
import base64, json, sys, time
sys.path.insert(0, sys.argv[1])
from workbench.domain.signatures import headers_for
from workbench.receiver import Receiver

secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
receiver, shipped = Receiver([secret]), []

@receiver.on("charge.*")
def ship(event):
    shipped.append(event.data.object["amount"])

event = {"id": "evt_1", "type": "charge.succeeded", "timestamp": "", "data": {"object": {"amount": 5}}}
body = json.dumps(event).encode()
headers = headers_for(secret, "evt_1", int(time.time()), body)
print([receiver.receive(each, headers) for each in (body, body, body + b" ")], shipped)
"""


def test_three_files_and_the_standard_library_are_a_webhook_endpoint(tmp_path: Path):
    for name in TAKEN:
        there = tmp_path / "workbench" / name
        there.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / name, there)
    # -I and -S: no site-packages, no environment, nothing but what was copied.
    done = subprocess.run(  # noqa: S603  this test's own script
        [sys.executable, "-I", "-S", "-c", BACKEND, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("[200, 200, 400] [5]\n", "")
