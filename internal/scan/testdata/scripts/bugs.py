import os
import hashlib
import pickle
import random
import shlex
import subprocess
import tempfile
import time

import requests
import yaml

password = "hunter2hunter2"  # want python/hard-coded-secret


def query(db, name):
    db.execute(f"SELECT * FROM users WHERE name = '{name}'")  # want python/sql-injection
    db.execute("DELETE FROM users WHERE id = %s" % name)  # want python/sql-injection
    db.execute("SELECT name FROM %s WHERE id = ?" % table, [name])
    db.execute("DELETE FROM users WHERE id IN (%s)" % (",".join("?" * len(ids))), ids)
    db.execute("SELECT name FROM {} WHERE name = '{}'".format(table, name))  # want python/sql-injection
    db.execute("SELECT * FROM users WHERE id = %s", (name,))


def calm(text, headers={}, items=[], *, _cache={}):
    _cache[text] = dict(headers, n=len(items))


def dangerous(text, items=[], *, table: dict = {}):  # want python/mutable-default python/mutable-default
    items.append(text)
    table[text] = items
    eval(text)  # want python/eval
    subprocess.run(text, shell=True)  # want python/shell-command
    os.system(text)  # want python/shell-command
    os.system("ls " + text)  # want python/shell-command
    os.popen(f"ls {text}")  # want python/shell-command
    subprocess.run("ls {}".format(text), shell=True)  # want python/shell-command
    subprocess.call("ls %s" % str(text), shell=True)  # want python/shell-command
    subprocess.run("ls -l | wc", shell=True)
    subprocess.run("ls " + shlex.quote(text), shell=True)
    os.system("ls " + HOME)
    os.system("ls " + os.path.join(HOME, "bin"))
    os.system("ls " + text.strip())  # want python/shell-command
    subprocess.run(text.command, shell=True)  # want python/shell-command
    subprocess.run(args=["ls", "-l"], shell=True)
    yaml.load(text)  # want python/unsafe-yaml
    pickle.loads(text)  # want python/pickle
    requests.get(text, verify=False, timeout=3)  # want python/tls-not-verified
    requests.get(text)  # want python/no-timeout
    # eval(text) in a comment does not count, nor "eval(text)" in a string
    return "eval(text)"


def files(path):
    handle = open(path)  # want python/unclosed-file
    with open(path) as other:
        return handle, other


def conditions(x):
    assert (x, "x is set")  # want python/assert-tuple
    if x == None:  # want python/none-comparison
        return 1
    if x is "text":  # want python/is-literal
        return 2
    if type(x) == int:  # want python/type-comparison
        return 3
    try:
        x()
    except:  # want python/bare-except
        return 4
    try:
        x()
    except Exception:
        pass
    try:  # want-2 python/empty-except
        x()
    except ValueError:
        pass  # it may be missing
    return 5


async def slow():
    time.sleep(1)  # want python/blocking-call


# BUG: slow is not fast  # want python/fixme-comment


async def run(tasks, user_password):
    slow()  # want python/missing-await
    await slow()
    reset_token = random.randint(0, 9)  # want python/weak-random
    delay = random.randint(0, 9)
    stored_password = hashlib.md5(user_password.encode()).hexdigest()  # want python/weak-hash
    etag = hashlib.md5(b"x").hexdigest()
    path = tempfile.mktemp()  # want python/insecure-temporary-file
    for key in tasks:  # want python/changed-while-iterated
        if key:
            del tasks[key]
    for key in list(tasks):
        del tasks[key]
    for key in tasks:
        if key:
            tasks.pop(key)
            break
    calls = []
    for n in range(3):
        calls.append(lambda: n + delay)  # want python/late-binding
        calls.append(lambda n=n: n)
    try:
        eval("1")
    except:
        path.strip()  # want python/dropped-result
        raise
    finally:
        return reset_token, stored_password, etag  # want python/return-in-finally
