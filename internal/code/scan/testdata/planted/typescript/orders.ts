import { createHash, randomBytes } from "node:crypto";
import { exec, execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import * as https from "node:https";
import * as path from "node:path";
import type { Request, Response } from "express";

export interface Order {
  id: string;
  customer: string;
  cents: number[];
  state: "open" | "paid" | "sent";
}

interface Database {
  query<T>(text: string, values?: unknown[]): Promise<T[]>;
}

const paymentApiKey = "pk9f3Kq27LmPz81VbTn4Xw"; // bug: secret in the code
const region = process.env.REGION ?? "eu-west-1";

const agent = new https.Agent({ keepAlive: true, rejectUnauthorized: false }); // bug: certificate not verified
const reports = path.resolve("reports");

export class Orders {
  private readonly seen = new Map<string, Order>();

  constructor(private readonly db: Database) {}

  async byCustomer(name: string): Promise<Order[]> {
    return this.db.query<Order>(`SELECT * FROM orders WHERE customer = '${name}'`); // bug: SQL injection
  }

  async byState(state: Order["state"]): Promise<Order[]> {
    const found = await this.db.query<Order>("SELECT * FROM orders WHERE state = $1", [state]);
    for (const order of found) {
      this.seen.set(order.id, order);
    }
    return found;
  }

  async isPaid(id: string): Promise<boolean> {
    const [order] = await this.db.query<Order>("SELECT * FROM orders WHERE id = $1", [id]);
    return order?.state === "paid";
  }

  async ship(id: string): Promise<void> {
    if (!this.isPaid(id)) { // bug: a promise is always true
      throw new Error(`order ${id} is not paid`);
    }
    await this.db.query("UPDATE orders SET state = 'sent' WHERE id = $1", [id]);
  }

  async shipAll(ids: string[]): Promise<void> {
    ids.forEach(async (id) => { // bug: nobody waits for the callbacks
      await this.ship(id);
    });
    console.log("all are sent");
  }

  async shipPaid(): Promise<void> {
    const paid = await this.byState("paid");
    await Promise.all(paid.map(async (order) => this.ship(order.id)));
  }
}

async function audit(action: string, id: string): Promise<void> {
  await fetch("https://audit.invalid/events", { method: "POST", body: JSON.stringify({ action, id, region }) });
}

export async function cancel(orders: Database, id: string): Promise<void> {
  await orders.query("DELETE FROM orders WHERE id = $1", [id]);
  audit("cancel", id); // bug: promise dropped
}

export async function reopen(orders: Database, id: string): Promise<void> {
  await orders.query("UPDATE orders SET state = 'open' WHERE id = $1", [id]);
  void audit("reopen", id);
}

export function total(order: Order): number {
  let sum = 0;
  for (let i = 0; i <= order.cents.length; i++) { // bug: one past the end
    sum += order.cents[i];
  }
  return sum;
}

export function median(cents: number[]): number {
  const sorted = [...cents].sort(); // bug: numbers sorted as texts
  return sorted[Math.floor(sorted.length / 2)];
}

export function largest(cents: number[]): number | undefined {
  return [...cents].sort((a, b) => b - a)[0];
}

export function label(order: Order): string {
  let text = order.id;
  switch (order.state) {
    case "open":
      text += " (open)"; // no end of the case follows
    case "paid": // bug: the case before falls through
      text += " (paid)";
      break;
    default:
      text += " (sent)";
  }
  return text;
}

export function isReady(order: Order): boolean {
  if ((order.state = "paid")) { // bug: assignment as a condition
    return order.cents.length > 0;
  }
  return false;
}

export function percent(text: string): number {
  const value = Number.parseFloat(text);
  if (value === NaN) { // bug: nothing is equal to NaN
    return 0;
  }
  return Math.min(100, Math.max(0, value));
}

export function resetToken(): string {
  const token = Math.random().toString(36).slice(2); // bug: predictable secret
  return token;
}

export function sessionToken(): string {
  return randomBytes(24).toString("hex");
}

export function passwordDigest(password: string, salt: string): string {
  return createHash("md5").update(salt + password).digest("hex"); // bug: fast hash of a password
}

export function etag(body: string): string {
  return createHash("sha1").update(body).digest("base64");
}

export function archive(folder: string, done: (error: Error | null) => void): void {
  exec(`tar czf ${folder}.tgz ${folder}`, (error) => done(error)); // bug: shell command of variables
}

export function restore(file: string, done: (error: Error | null) => void): void {
  execFile("tar", ["xzf", file], (error) => done(error));
}

export async function sendReport(request: Request, response: Response): Promise<void> {
  const file = path.join(reports, request.params.name); // bug: a path of the request leaves the folder
  response.send(await readFile(file, "utf8"));
}

export async function sendSafely(request: Request, response: Response): Promise<void> {
  const file = path.resolve(reports, path.basename(request.params.name));
  response.send(await readFile(file, "utf8"));
}

export function login(request: Request, response: Response): void {
  response.redirect(String(request.query.next)); // bug: redirect to wherever the request says
}

export function logout(_request: Request, response: Response): void {
  response.redirect("/login");
}

export function price(request: Request): number {
  const formula = String(request.query.formula);
  return Number(eval(formula)); // bug: code of a text
}

export function pay(id: string): Promise<string> {
  return new Promise(async (resolve) => { // bug: what fails in an async executor is lost
    const answer = await fetch(`https://pay.invalid/${id}`, { headers: { authorization: paymentApiKey }, keepalive: agent.maxSockets > 0 });
    resolve(await answer.text());
  });
}
