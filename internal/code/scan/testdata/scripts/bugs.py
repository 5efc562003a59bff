import logging
import os
import shlex
import subprocess

import requests
import yaml
from flask import request

password = "hunter2hunter2"  # want python/hard-coded-secret
log = logging.getLogger()


def query(db):
    name = request.args.get("name")
    count = int(request.form["count"])
    kind = request.args["kind"]
    if kind not in ("a", "b") or not name:
        return
    db.execute(f"SELECT * FROM users WHERE name = '{name}'")  # want python/sql-injection
    db.execute("DELETE FROM users WHERE id = %s" % request.args["id"])  # want python/sql-injection
    db.execute("SELECT name FROM {} WHERE name = '{}'".format("t", name))  # want python/sql-injection
    db.execute("DELETE FROM users WHERE n = %s" % count)
    db.execute(f"SELECT * FROM users WHERE kind = '{kind}'")
    db.execute("SELECT * FROM users WHERE id = %s", (name,))
    os.system("ls " + name)  # want python/shell-command
    os.system("ls " + shlex.quote(name))
    subprocess.run(f"ls {name.strip()}", shell=True)  # want python/shell-command
    subprocess.run(["ls", name])
    eval(request.get_json()["code"])  # want python/eval
    name = "ours"
    eval(name)


@app.route("/rooms/<name>/<int:number>")
def room(name, number):
    os.system(f"ls {name}")  # want python/shell-command
    os.system(f"ls {number}")


@router.get("/items/{item}")
async def items(item: str, session: Session = Depends(get)):
    await session.execute("SELECT * FROM items WHERE id = '" + item + "'")  # want python/sql-injection


def own(db, name, text):
    db.execute(f"SELECT * FROM {name} WHERE name = '{text}'")
    os.system("ls " + name)
    eval(text)


def calm(text, headers={}, items=[], *, _cache={}):
    _cache[text] = dict(headers, n=len(items))


def dangerous(text, items=[], *, table: dict = {}):  # want python/mutable-default python/mutable-default
    items.append(text)
    table[text] = items
    yaml.load(text)  # want python/unsafe-yaml
    requests.get(text, verify=False, timeout=3)  # want python/tls-not-verified
    log.info("%s of %s", text)  # want python/format-arguments
    log.info("{} of {}", text)
    # eval(text) in a comment does not count, nor "eval(text)" in a string
    return "eval(text)"


class Room:
    def opens(self):
        pass

    def closes():  # want python/method-without-self
        pass


def conditions(x):
    assert (x, "x is set")  # want python/assert-tuple
    if x is "text":  # want python/is-literal
        return 2
    if x is None:
        x.name == 3  # want python/comparison-statement
    return 5


async def slow():
    pass


@runs_it
async def ended():
    pass


async def run(tasks):
    slow()  # want python/missing-await
    ended()
    api_key = "13e56ca9cceebf1f33065c2c"  # a mock
    await slow()
    for key in tasks:  # want python/changed-while-iterated
        if key:
            del tasks[key]
    for key in list(tasks):
        del tasks[key]
    for key in tasks:
        if key:
            tasks.pop(key)
            break
    try:
        eval("1")
    finally:
        return 1  # want python/return-in-finally
