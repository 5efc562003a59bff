"""The pages of a shop."""

import os

import jwt
import requests
from flask import Flask, redirect, render_template_string, request, send_file, url_for
from werkzeug.utils import secure_filename

app = Flask(__name__)

SIGNING_KEY = "b7Qx2LmPz91KdVh4sRt6"  # bug: hard-coded secret


@app.route("/login")
def login():
    return redirect(request.args.get("next"))  # bug: open redirect


@app.route("/home")
def home():
    return redirect(url_for("shop", page=request.args.get("page")))


@app.route("/hello")
def hello():
    name = request.args.get("name", "")
    return render_template_string("<h1>Hello " + name + "</h1>")  # bug: template injection


@app.route("/hello2")
def hello_well():
    return render_template_string("<h1>Hello {{ name }}</h1>", name=request.args.get("name", ""))


@app.route("/hi")
def hi():
    name = request.args.get("name", "")
    return f"<h1>Hi {name}</h1>"  # bug: cross-site scripting


@app.route("/count")
def count():
    return f"<p>{len(request.args)} arguments</p>"


@app.route("/invoice")
def invoice():
    return send_file(os.path.join("/srv/invoices", request.args["file"]))  # bug: path traversal


@app.route("/invoice2")
def invoice_well():
    return send_file(os.path.join("/srv/invoices", secure_filename(request.args["file"])))


@app.route("/image")
def image():
    url = request.args.get("url")
    return requests.get(url, timeout=3).content  # bug: server-side request forgery


@app.route("/price")
def price():
    good = request.args.get("good")
    return requests.get("https://prices.example.com", params={"good": good}, timeout=3).text


def user_of(token):
    return jwt.decode(token, options={"verify_signature": False})  # bug: not verified


def user_of_well(token):
    return jwt.decode(token, os.environ["JWT_KEY"], algorithms=["HS256"])


if __name__ == "__main__":
    app.run(debug=True)  # bug: debugger for everybody
