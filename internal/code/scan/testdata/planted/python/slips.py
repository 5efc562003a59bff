"""Small tools of a shop."""

import csv
import logging
import threading

log = logging.getLogger(__name__)

KINDS = [
    "book",
    "cd"  # bug: a comma is missing
    "game",
    "film",
]

LONG = [
    "a text that is long, "
    "and goes on",
    "another one",
]


class Basket:
    goods = []  # bug: shared by all baskets
    limits = {}

    def __init__(self):
        self.limits = {}

    def put(self, good):
        self.goods.append(good)

    def limit(self, good, n):
        self.limits[good] = n

    def count():  # bug: no self
        return 0

    @staticmethod
    def empty():
        return Basket()


def number(text):
    try:
        return int(text)
    except Exception:
        return 0
    except ValueError:  # bug: never reached
        return -1


def number_well(text):
    try:
        return int(text)
    except ValueError:
        return -1
    except Exception:
        return 0


def number_or_none(text):
    try:
        return float(text)
    except ValueError or TypeError:  # bug: only ValueError
        return None


def report(name, price):
    log.info("sold %s for %d to %s", name, price)  # bug: a value is missing
    log.info("sold %s for %d", name, price)
    log.info("100 % sold")
    line = "{} costs {}".format(name)  # bug: a value is missing
    line += "{0} costs {0}".format(name)
    line += "%s costs %d%%" % (name, price)
    return line + "%s costs %d %s" % (name, price)  # bug: a value is missing


total = 0


def sell(price):
    total += price  # bug: unbound local
    return total


def sell_well(price):
    global total
    total += price
    return total


def counter():
    sold = 0

    def sell_one():
        sold += 1  # bug: unbound local
        return sold

    def sell_one_well():
        nonlocal sold
        sold += 1
        return sold

    return sell_one, sell_one_well


def wanted(kind):
    if kind == "book" or "film":  # bug: always true
        return True
    if kind == "cd" and kind == "game":  # bug: never true
        return True
    return kind == "game" or kind == "cd"


lock = threading.Lock()


def reserve(stock, good):
    lock.acquire()
    if good not in stock:
        return False  # bug: the lock stays
    stock.remove(good)
    lock.release()
    return True


def reserve_well(stock, good):
    lock.acquire()
    try:
        if good not in stock:
            return False
        stock.remove(good)
    finally:
        lock.release()
    return True


def discounted(price, discount):
    if discount:
        price == price - discount  # bug: nothing is assigned
    return price


def first_sold(goods):
    for i in range(len(goods) + 1):  # bug: one too far
        if goods[i].sold:
            return goods[i]
    return None


def pairs(goods):
    for i in range(len(goods) + 1):
        if i == len(goods):
            yield None
        else:
            yield goods[i]


def clean(names):
    for name in names:
        name.strip()  # bug: the result is dropped
        sorted(names)  # bug: the result is dropped
        names.sort()
        yield name.strip()


def board(n):
    rows = [[0] * n] * n  # bug: one row
    rows[0][0] = 1
    other = [[0] * n for _ in range(n)]
    other[0][0] = 1
    return rows, other


def store(path, goods):
    with open(path) as file:  # bug: opened for reading
        csv.writer(file)
        file.write("goods\n")
    with open(path, "w") as file:
        file.write("goods\n")
    with open(path) as file:
        return file.read()
