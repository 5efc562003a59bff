import express from 'express';
import jwt from 'jsonwebtoken';

const app = express();

app.get('/hello', (req, res) => {
  res.send(`<h1>Hello ${req.query.name}</h1>`); // bug: cross-site scripting
});

app.get('/hello-json', (req, res) => {
  res.send({ hello: req.query.name });
});

app.get('/me', (req, res) => {
  const token = String(req.headers.authorization);
  res.json(jwt.decode(token)); // bug: not verified
});
