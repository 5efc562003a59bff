"""Bills of customers: read, priced, stored and sent."""

import asyncio
import hashlib
import os
import pickle
import random
import sqlite3
import subprocess
import tempfile
import time

import requests
import yaml

API_KEY = "sk9f3Kq27LmPz81VbTn4"  # bug: secret in the code


def load_rates(path):
    with open(path, encoding="utf-8") as file:
        return yaml.load(file)  # bug: yaml.load makes any object


def customers(path, seen=[]):  # bug: default shared by all calls
    with open(path, encoding="utf-8") as file:
        for line in file:
            seen.append(line.strip())
    return seen


def bills_of(db: sqlite3.Connection, name):
    cursor = db.execute(f"SELECT id, cents FROM bills WHERE name = '{name}'")  # bug: SQL injection
    return cursor.fetchall()


def paid(db: sqlite3.Connection, bill_id):
    row = db.execute("SELECT state FROM bills WHERE id = ?", (bill_id,)).fetchone()
    return row[0] is "paid"  # bug: identity of a literal


def archive(folder):
    subprocess.run("tar czf " + folder + ".tgz " + folder, shell=True, check=True)  # bug: shell command of variables


def draft(text):
    path = tempfile.mktemp(suffix=".txt")  # bug: name that others can take
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def reset_token():
    token = "".join(random.choice("abcdef0123456789") for _ in range(32))  # bug: predictable secret
    return token


def store_password(db: sqlite3.Connection, user, password):
    digest = hashlib.md5(password.encode()).hexdigest()  # bug: fast hash of a password
    db.execute("UPDATE users SET digest = ? WHERE name = ?", (digest, user))


def drop_paid(states):
    for bill_id in states:  # bug: changed while it is iterated
        if states[bill_id] == "paid":
            del states[bill_id]


def total(items):
    assert (len(items) > 0, "no items")  # bug: assertion that holds always
    return sum(item["cents"] for item in items)


def price(formula, amount):
    return eval(formula, {"amount": amount})  # bug: code of a text


def restore(raw):
    return pickle.loads(raw)  # bug: unpickling foreign data


def reminders(names):
    senders = []
    for name in names:
        senders.append(lambda: print("reminding", name))  # bug: late binding
    return senders


def read_state(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except:  # bug: catches the end of the program
        return ""


def close(db: sqlite3.Connection):
    try:
        db.commit()
    finally:
        db.close()
        return True  # bug: return in finally


def post(bill):
    answer = requests.post("https://billing.invalid/bills", json=bill, verify=False, timeout=10)  # bug: certificate not verified
    answer.raise_for_status()
    return answer.json()


def rate_of(currency):
    return requests.get("https://rates.invalid/" + currency).json()["rate"]  # bug: no timeout


async def notify(name):
    await asyncio.sleep(0)
    print("notified", name)


async def notify_all(names):
    for name in names:
        notify(name)  # bug: coroutine never awaited
        time.sleep(0.1)  # bug: blocks the loop


def log_line(path, text):
    file = open(path, "a", encoding="utf-8")  # bug: file never closed
    file.write(text + "\n")


def average(cents):
    return sum(cents) / len(cent)  # bug: undefined name


def discount(cents, percent):
    if percent > 100:
        ValueError("more than everything")  # bug: exception never raised
    return cents * (100 - percent) // 100


def label(bill):
    return "bill %d of %s" % (bill["id"],)  # bug: format wants more


class Bill:
    def __init__(self, cents):
        self.cents = cents

    def __eq__(self, other):
        return self.cents == other.cents

    def rounded():  # bug: method without self
        return 0


# What follows is right, and looks like what is not.


def names(path, into=None):
    into = [] if into is None else into
    with open(path, encoding="utf-8") as file:
        into.extend(line.strip() for line in file)
    return into


def forget(states, done):
    for bill_id in list(states):
        if bill_id in done:
            del states[bill_id]


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.md5(file.read()).hexdigest()


def shuffled(rows):
    return random.sample(rows, len(rows))


def home():
    try:
        return os.environ["BILLS"]
    except KeyError:
        return os.getcwd()
