"""nginx as a process of its own, on loopback, with the settings that an index has."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# tcp_nopush holds small answers back for 200 ms on loopback
CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx-error.log;
{user}
events {{ worker_connections 1024; }}
http {{
  types {{ }}
  default_type application/octet-stream;
  access_log off;
  sendfile on;
  tcp_nopush off;
  tcp_nodelay on;
  keepalive_timeout 60;
  keepalive_requests 1000000;
  client_body_temp_path {folder}/nginx-body;
  proxy_temp_path {folder}/nginx-proxy;
  fastcgi_temp_path {folder}/nginx-fastcgi;
  uwsgi_temp_path {folder}/nginx-uwsgi;
  scgi_temp_path {folder}/nginx-scgi;
  server {{
    listen 127.0.0.1:{port};
    root {folder};
    location /files/ {{ add_header Cache-Control "max-age=365000000, immutable, public"; }}
    location / {{
      default_type application/vnd.pypi.simple.v1+json;
      add_header Cache-Control "max-age=600, public";
      try_files $uri/index.json =404;
    }}
  }}
}}
"""
"""Pages are fresh for ten minutes and files for ever, as on PyPI."""


def find_nginx() -> str | None:
    """The nginx of the system."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


@contextlib.contextmanager
def serve(nginx: str, folder: Path) -> Iterator[str]:
    """Serve a folder while the context lasts; gives ``http://127.0.0.1:PORT``."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    user = "user root;" if os.name == "posix" and os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(folder=folder, port=port, user=user), encoding="utf-8"
    )
    process = subprocess.Popen(
        [nginx, "-p", str(folder), "-c", str(configuration), "-e", str(folder / "nginx-start.log")]
    )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise SystemExit("nginx did not start; see nginx-error.log in the folder that is served")
