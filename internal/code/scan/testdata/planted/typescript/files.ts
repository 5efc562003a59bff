import * as fs from "node:fs";
import { open } from "node:fs/promises";

export interface Entry {
  name: string;
  size?: number;
  owner?: { mail: string };
}

export function firstLine(file: string): string {
  const handle = fs.openSync(file, "r"); // bug: file never closed
  const buffer = Buffer.alloc(1024);
  const length = fs.readSync(handle, buffer, 0, buffer.length, 0);
  return buffer.toString("utf8", 0, length).split("\n")[0];
}

export async function lastByte(file: string): Promise<number> {
  await using handle = await open(file, "r");
  const { size } = await handle.stat();
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
  return buffer[0];
}

export function settings(file: string): Record<string, unknown> {
  let read: Record<string, unknown> = {};
  try {
    read = JSON.parse(fs.readFileSync(file, "utf8"));
  } catch (error) {} // bug: every failure is swallowed
  return read;
}

export function remove(file: string): void {
  try {
    fs.unlinkSync(file);
  } catch {
    // It may be gone already.
  }
}

export function copy(from: string, to: string): boolean {
  try {
    fs.copyFileSync(from, to);
  } finally {
    return fs.existsSync(to); // bug: return in finally drops the failure
  }
}

export function numbers(line: string): number[] {
  return line.split(",").map(parseInt); // bug: the index is taken for the radix
}

export function sizes(entries: Entry[]): number[] {
  return entries.map((entry) => { // bug: the callback returns nothing for some
    if (entry.size !== undefined) {
      entry.size;
    }
  }) as unknown as number[];
}

export function isText(value: unknown): boolean {
  return typeof value === "String"; // bug: typeof never returns that
}

export function isEmpty(entries: Entry[]): boolean {
  return entries === []; // bug: a new array is equal to nothing
}

export function without(entries: Record<string, Entry>, name: string): Record<string, Entry> {
  if (!name in entries) { // bug: negates the operand, not the comparison
    return entries;
  }
  const { [name]: _, ...rest } = entries;
  return rest;
}

export function mails(entries: Entry[]): string[] {
  return entries.map((entry) => (entry?.owner).mail); // bug: optional chain that is used without a check
}

export function countdown(from: number, tell: (n: number) => void): void {
  for (let i = from; i > 0; i++) { // bug: counts away from its end
    tell(i);
  }
}

export function later(names: string[], tell: (name: string) => void): void {
  for (var i = 0; i < names.length; i++) {
    setTimeout(() => tell(names[i]), 100); // bug: all closures share one variable
  }
}

export function soon(names: string[], tell: (name: string) => void): void {
  for (const name of names) {
    setTimeout(() => tell(name), 100);
  }
}

export function colour(level: number): string {
  if (level > 90) {
    return "red";
  } else if (level > 70) {
    return "orange";
  } else if (level > 90) { // bug: condition that came before
    return "black";
  }
  return "green";
}

export function sameOwner(a: Entry, b: Entry): boolean {
  return a.owner?.mail === a.owner?.mail && a.name !== b.name; // bug: compared with itself
}

export const limits = {
  size: 10_000,
  files: 100,
  size: 20_000, // bug: member that is there twice
};

export async function sum(read: (name: string) => Promise<number>, names: string[]): Promise<number> {
  let bytes = 0;
  await Promise.all(names.map(async (name) => {
    bytes += await read(name); // bug: read before the wait, lost after it
  }));
  return bytes;
}
