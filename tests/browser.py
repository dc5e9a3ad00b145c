"""Headless Chromium driven through a pipe: real clicks, and a list of every request it made.

The DevTools protocol runs over two pipes (``--remote-debugging-pipe``), JSON ended by a zero byte,
so only the browser itself is needed: no driver, no socket, no package.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Browser", "find_browser"]

_NAMES = ("chromium", "chromium-headless-shell", "chromium-browser", "google-chrome")
_PATIENCE = 60.0


def find_browser() -> str | None:
    """Return the path of a Chromium; ``NEARFAR_BROWSER`` names one that is not on PATH."""
    named = os.environ.get("NEARFAR_BROWSER")
    return named or next((p for p in map(shutil.which, _NAMES) if p), None)


class Browser:
    """One page of a headless browser.

    Parameters
    ----------
    program : str
        The executable.
    folder : Path
        Folder for its profile.
    """

    def __init__(self, program: str, folder: Path) -> None:
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        command = [program, "--headless", "--disable-gpu", "--no-first-run", "--no-sandbox"]
        command += ["--disable-dev-shm-usage", "--remote-debugging-pipe"]
        command += ["--disable-background-networking", f"--user-data-dir={folder}", "about:blank"]
        # The browser takes commands on descriptor 3 and answers on 4. A shell opens them from
        # names under /proc, because running code between fork and exec is unsafe.
        script = f'exec "$@" 3</proc/self/fd/{to_read} 4>/proc/self/fd/{to_write}'
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", script, "sh", *command],
            pass_fds=(to_read, to_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._pending = b""
        self._count = 0
        self._session = ""
        self.requests: list[str] = []
        self.complaints: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Network", "Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def _message(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._pending:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self._read, 1 << 16)
            if not data:
                raise RuntimeError(f"the browser ended with code {self._process.wait()}")
            self._pending += data
        line, self._pending = self._pending.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        return message

    def call(self, method: str, **parameters: Any) -> Any:
        """Send one command and wait for its answer."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + _PATIENCE
        while True:
            answer = self._message(until)
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, address: str) -> None:
        """Go to a page and wait until it has loaded."""
        self.call("Page.navigate", url=address)
        until = time.monotonic() + _PATIENCE
        while (
            self.value("document.readyState") != "complete"
            or self.value("location.href") != address
        ):
            if time.monotonic() > until:
                raise TimeoutError(f"{address} does not load")
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """Return the value of an expression on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Press and release the mouse on the middle of an element."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def screenshot(self, file: Path, *, dark: bool = False) -> None:
        """Save the whole page as PNG."""
        scheme = "dark" if dark else "light"
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(found["data"]))
