import os
import pickle
import subprocess
import time

import requests
import yaml

password = "hunter2hunter2"  # want python/hard-coded-secret


def query(db, name):
    db.execute(f"SELECT * FROM users WHERE name = '{name}'")  # want python/sql-injection
    db.execute("DELETE FROM users WHERE id = %s" % name)  # want python/sql-injection
    db.execute("SELECT * FROM users WHERE id = %s", (name,))


def dangerous(text, items=[], *, table={}):  # want python/mutable-default python/mutable-default
    eval(text)  # want python/eval
    subprocess.run(text, shell=True)  # want python/shell-command
    os.system(text)  # want python/shell-command
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
    except ValueError:
        pass
    try:  # want-2 python/empty-except
        x()
    except ValueError:
        pass  # it may be missing
    return 5


async def slow():
    time.sleep(1)  # want python/blocking-call


# BUG: slow is not fast  # want python/fixme-comment
