"""A Python index of made-up wheels, for test_fetch_headers.sh.

    headers_index.py FOLDER     makes FOLDER/{wheels,manifest,include}, and serves the wheels on the port it prints

http://127.0.0.1:PORT/WAY/simple/PACKAGE/ is the page of a package; WAY says what the server does:
good; relative, rooted: how a page names its wheels; noranges; redirect; login; nowheel; notfound; broken: errors;
cutN: the first answer for each file ends early, for each N; always-cut; damaged, other, short: the bytes are not those of the wheel;
silent: a file begins and does not go on. FOLDER/log has a line for each answer: WAY FILE RANGE, and "closed" for a silent one.
"""
import base64
import hashlib
import http.server
import os
import random
import sys
import threading
import zipfile

folder = sys.argv[1]
wheels = {}
seen = set()
lock = threading.Lock()
numbers = random.Random(1)


def text(size):
    """Compresses badly, so that sizes in the wheel are near to those outside."""
    return "\n".join("#define N%x" % numbers.getrandbits(200) for _ in range(size // 61)).encode()


def make_wheel(package, headers, others, manifest):
    name = package + "-1.0-py3-none-any.whl"
    path = os.path.join(folder, "wheels", name)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in {**headers, **others}.items():
            stored = zipfile.ZIP_STORED if member.endswith("stored.h") else zipfile.ZIP_DEFLATED
            archive.writestr("nvidia/%s/include/%s" % (package, member), content, stored)
    with open(path, "rb") as file:
        wheels[name] = file.read()
    print("wheel %s %d 1000 nvidia/%s/include *.h" % (name, len(wheels[name]), package), file=manifest)
    for member, content in sorted(headers.items()):
        print("%s  %s" % (hashlib.sha256(content).hexdigest(), member), file=manifest)
        path = os.path.join(folder, "include", member)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def make_wheels():
    os.makedirs(os.path.join(folder, "wheels"))
    with open(os.path.join(folder, "manifest"), "w") as manifest:
        print("# made up", file=manifest)
        # More than 20 MB; headers before and after what is not wanted, and a directory of more than 16 KB.
        make_wheel("made_large", {"cuda.h": b"#define CUDA_VERSION 13000\n", "large.h": text(5000), "sub/deep/inner.h": text(900)},
                   {"blob.bin": os.urandom(21000000), **{"no/%d.txt" % i: b"x" for i in range(400)}}, manifest)
        make_wheel("made_middle", {"middle.h": text(60000), "stored.h": text(3000)},
                   {"blob.bin": os.urandom(900000)}, manifest)
        make_wheel("made_small", {"small.h": text(100000), "empty.h": b""},
                   {"note.txt": b"x", "../above.txt": b"x", "bomb.bin": bytes(30000000)}, manifest)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, *words):
        with lock, open(os.path.join(folder, "log"), "a") as log:
            print(*words, file=log)

    def answer(self, status, body=b"", headers=(), stop=None):
        self.send_response(status)
        for header in headers:
            self.send_header(*header)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self.wfile.write(body[:stop])
        except ConnectionError:
            pass

    def do_GET(self):
        _, way, kind, rest = self.path.split("/", 3)
        if way == "login" and self.headers.get("Authorization") != "Basic " + base64.b64encode(b"me:pass word").decode():
            self.answer(401, headers=[("WWW-Authenticate", 'Basic realm="x"')])
        elif way == "notfound":
            self.answer(404)
        elif way == "broken":
            self.answer(500)
        elif kind == "simple":
            self.page(way, rest.strip("/"))
        else:
            self.file(way, rest)

    do_HEAD = do_GET

    def page(self, way, package):
        if package.startswith("made-missing") or way == "nowheel":
            return self.answer(200, b"<html><a href='x-1.0.whl'>x-1.0.whl</a></html>")
        name = package.replace("-", "_") + "-1.0-py3-none-any.whl"
        start = {"relative": "../../", "rooted": "/rooted/"}.get(way, "http://%s/%s/" % (self.headers["Host"], way))
        self.answer(200, ('<html>\n<a href="%sfiles/old/%s.metadata">no</a><a data-x="1"\n href="%sfiles/a/../%s?a=1&amp;b=2#sha256=00">'
                          '%s</a>\n</html>' % (start, name, start, name, name)).encode())

    def file(self, way, rest):
        name, span = rest.split("?")[0].split("/")[-1], self.headers.get("Range")
        # As the page has it, with its &amp; read as &.
        if not rest.endswith("?a=1&b=2"):
            return self.answer(404)
        body = whole = wheels[name]
        self.note(way, name, span or "whole")
        if way == "redirect":
            return self.answer(302, headers=[("Location", "/good/files/" + name + "?a=1&b=2")])
        if way == "damaged":
            body = bytes(b ^ 1 if i % 512 == 300 else b for i, b in enumerate(body[:4096])) + body[4096:]
        elif way == "other":
            body = body.replace(b"PK\1\2", b"PK\1\7")
        elif way == "short":
            body = body[:-100]
        status, headers = 200, [("Content-Type", "application/zip")]
        if span and way not in ("noranges", "short"):
            first, last = (int(n) if n else len(body) - 1 for n in span.split("=")[1].split("-"))
            status, body = 206, body[first:last + 1]
            headers.append(("Content-Range", "bytes %d-%d/%d" % (first, first + len(body) - 1, len(whole))))
        with lock:
            cut = way == "always-cut" or (way.startswith("cut") and (way, name, span) not in seen)
            seen.add((way, name, span))
        if way == "silent":
            self.answer(status, body, headers, stop=1)
            try:
                while self.connection.recv(1):
                    pass
            except ConnectionError:
                pass
            self.note("closed")
        else:
            self.answer(status, body, headers, stop=len(body) // 2 if cut else None)


make_wheels()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
