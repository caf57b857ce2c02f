"""Chromium without a window, driven over WebDriver: with keys, sizes, colour schemes and its console."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from base64 import b64decode
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, Request, build_opener

DRIVER = shutil.which("chromedriver")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
)
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element's id in every WebDriver
ASK = build_opener(ProxyHandler({}))


class Browser:
    def __init__(self, folder: Path) -> None:
        assert DRIVER is not None
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._driver = subprocess.Popen(
            [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self._at = f"http://127.0.0.1:{port}"
        self._await()
        options = {"binary": CHROMIUM, "args": [*QUIET, f"--user-data-dir={folder / 'profile'}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._at += f"/session/{made['sessionId']}"

    def _await(self) -> None:
        for _ in range(100):
            try:
                self._ask("GET", "/status")
                return
            except URLError:
                time.sleep(0.1)
        raise TimeoutError("chromedriver did not answer")

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        sent = None if body is None else json.dumps(body).encode()
        request = Request(self._at + path, sent, {"Content-Type": "application/json"}, method=method)
        with ASK.open(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def look(self, page: Path, width: int, scheme: str) -> None:
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        scheme_feature = {"name": "prefers-color-scheme", "value": scheme}
        self.devtools("Emulation.setEmulatedMedia", features=[scheme_feature])
        self._ask("POST", "/url", {"url": page.as_uri()})

    def devtools(self, command: str, **params: Any) -> Any:
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def run(self, script: str) -> Any:
        return self._ask("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, css: str, keys: str) -> None:
        found = self._ask("POST", "/element", {"using": "css selector", "value": css})
        self._ask("POST", f"/element/{found[ELEMENT]}/value", {"text": keys})

    def console(self) -> list[str]:
        return [entry["message"] for entry in self._ask("POST", "/se/log", {"type": "browser"})]

    def picture(self) -> bytes:
        """Of the whole page, however long."""
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        return b64decode(shot["data"])

    def printed(self) -> bytes:
        return b64decode(self.devtools("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"])

    def close(self) -> None:
        self._ask("DELETE", "")
        self._driver.terminate()
        self._driver.wait(timeout=20)
