"""A server on this machine that answers as GitHub's REST does, for the calls that `hush ci` makes.

Shapes, status codes and headers are those of GitHub's documentation for comments, pull requests, workflow runs and
artifacts. It checks the token, counts what is asked, and fails on demand.
"""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

REPOSITORY = "acme/assistant"
TOKEN = "ghs_0123456789abcdefghijABCDEFGHIJ01"
BOT = "github-actions[bot]"


@dataclass
class Failure:
    """What the next matching request gets instead of an answer; `after` the request was carried out or before it."""

    status: int
    method: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    after: bool = False
    message: str = "Server Error"


@dataclass
class GitHub:
    """The state of one repository. `asked` are (method, path) of all requests, `signed` those with the token."""

    comments: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    pulls: list[dict[str, Any]] = field(default_factory=list)
    runs: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    files: dict[int, bytes] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    signed: list[str] = field(default_factory=list)
    read_only: bool = False
    url: str = ""
    store: str = ""

    def add_comment(self, number: int, body: str, author: str = BOT) -> dict[str, Any]:
        found = {"id": 1000 + sum(map(len, self.comments.values())), "body": body, "user": {"login": author}}
        self.comments.setdefault(number, []).append(found)
        return found

    def add_run(
        self,
        number: int,
        content: bytes | None,
        *,
        name: str = "hush-baseline.json",
        artifact: str = "hush-baseline",
        expired: bool = False,
        **changes: Any,
    ) -> None:
        """A run, the newest first, with one artifact that is a zip of `content` (None: no artifact)."""
        run = {
            "id": number,
            "head_branch": "main",
            "head_sha": f"{number:040x}",
            "event": "push",
            "status": "completed",
            "conclusion": "success",
            "html_url": f"https://github.com/{REPOSITORY}/actions/runs/{number}",
            "head_repository": {"full_name": REPOSITORY},
        }
        self.runs.insert(0, run | changes)
        if content is not None:
            self.artifacts[number] = [{"id": number * 10, "name": artifact, "expired": expired}]
            self.files[number * 10] = zipped({name: content})

    def paths(self, method: str = "") -> list[str]:
        return [path for m, path in self.asked if not method or m == method]


def zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class _Handler(BaseHTTPRequestHandler):
    hub: GitHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self._serve("GET")

    def do_POST(self) -> None:
        self._serve("POST")

    def do_PATCH(self) -> None:
        self._serve("PATCH")

    def _serve(self, method: str) -> None:
        path = urlsplit(self.path).path
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        hub = self.hub
        hub.asked.append((method, path))
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            hub.signed.append(path)
        else:
            self._answer(401, {"message": "Bad credentials"})
            return
        failing = next((f for f in hub.failures if f.method in ("", method)), None)
        if failing is not None:
            hub.failures.remove(failing)
            if not failing.after:
                self._answer(failing.status, {"message": failing.message}, failing.headers)
                return
        status, body, headers = self._route(method, path, json.loads(raw) if raw else None)
        if failing is not None:
            status, body, headers = failing.status, {"message": failing.message}, failing.headers
        self._answer(status, body, headers)

    def _route(self, method: str, path: str, data: Any) -> tuple[int, Any, Mapping[str, str]]:
        hub, parts = self.hub, path.strip("/").split("/")
        query = {k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()}
        if parts[:3] != ["repos", *REPOSITORY.split("/")]:
            return 404, {"message": "Not Found"}, {}
        if method != "GET" and hub.read_only:
            return 403, {"message": "Resource not accessible by integration"}, {}
        match method, parts[3:]:
            case "GET", ["issues", number, "comments"]:
                return 200, _page(hub.comments.get(int(number), []), query), {}
            case "POST", ["issues", number, "comments"]:
                if len(data["body"]) > 65_536:
                    return 422, {"message": "Body is too long (maximum is 65536 characters)"}, {}
                return 201, hub.add_comment(int(number), data["body"]), {}
            case "PATCH", ["issues", "comments", number]:
                for found in (c for own in hub.comments.values() for c in own if c["id"] == int(number)):
                    found["body"] = data["body"]
                    return 200, found, {}
            case "GET", ["pulls"]:
                owner, _, branch = query["head"].partition(":")
                own = [p for p in hub.pulls if (p["head"]["user"]["login"], p["head"]["ref"]) == (owner, branch)]
                return 200, _page([p for p in own if p["state"] == query["state"]], query), {}
            case "GET", ["actions", "workflows", "gate.yml", "runs"]:
                own = [r for r in hub.runs if r["head_branch"] == query["branch"]]
                own = [r for r in own if query["status"] in (r["status"], r["conclusion"])]
                return 200, {"total_count": len(own), "workflow_runs": _page(own, query)}, {}
            case "GET", ["actions", "runs", number, "artifacts"]:
                own = [a for a in hub.artifacts.get(int(number), []) if a["name"] == query.get("name", a["name"])]
                return 200, {"total_count": len(own), "artifacts": _page(own, query)}, {}
            case "GET", ["actions", "artifacts", number, "zip"] if int(number) in hub.files:
                return 302, None, {"Location": f"{hub.store}/{number}?sig=secret-signature"}
        return 404, {"message": "Not Found"}, {}

    def _answer(self, status: int, body: Any, headers: Mapping[str, str] | None = None) -> None:
        raw = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


class _Store(BaseHTTPRequestHandler):
    """Where artifacts lie: another host, which refuses a request that brings a token."""

    hub: GitHub

    def log_message(self, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        number = int(urlsplit(self.path).path.strip("/"))
        bad = "Authorization" in self.headers or "sig=secret-signature" not in self.path
        raw = b"a token was sent here" if bad else self.hub.files[number]
        self.send_response(400 if bad else 200)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)


def _page(items: list[Any], query: Mapping[str, str]) -> list[Any]:
    size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
    return items[size * (number - 1) : size * number]


@contextmanager
def serving() -> Iterator[GitHub]:
    """A repository behind two servers on free ports of this machine."""
    hub = GitHub()
    servers = []
    for kind, name in ((_Handler, "url"), (_Store, "store")):
        server = ThreadingHTTPServer(("127.0.0.1", 0), type(kind.__name__, (kind,), {"hub": hub}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        setattr(hub, name, f"http://127.0.0.1:{server.server_address[1]}")
        servers.append(server)
    try:
        yield hub
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
