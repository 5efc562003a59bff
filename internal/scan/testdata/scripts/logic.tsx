import path from "node:path";
import React, { memo, useEffect, useState } from "react";

// What is near to a fault and is none.
export async function right(request: any, response: any, rows: { id?: number; tags: string[] }[], scores: number[], names: string[]) {
  const ids = rows.map((row) => { return row.id; });
  rows.map((row) => { row.tags.push("seen"); });
  const known = rows.filter((row) => {
    if (row.id) {
      return true;
    }
    throw new Error("no id");
  });
  const first = (rows[0]?.tags ?? []).length + (rows[0]?.tags as string[]).length + (await rows[0]?.tags)!.length;
  scores.sort((a, b) => a - b);
  names.sort();
  for (let i = 9; i >= 0; i--) ids.push(i);
  for (let i = 0; i < 9; i += 2) ids.push(i);
  for (var j = 0; j < 9; j++) ids.push(j);
  const isNaN = scores[0] !== scores[0];
  if (scores[0] === 1) return first; else if (scores[0] === 2) return known; else if (scores[1] === 1) return isNaN;
  if (next()) { ids.pop(); } else if (next()) { ids.pop(); }
  try {
    names.forEach((name) => { return name; });
  } finally {
    names.some((name) => { return name === "a"; });
  }
  response.redirect("/rooms/" + request.params.id);
  response.redirect(known.find((row) => row.id === request.query.id)?.tags[0]);
  response.send(path.join("reports", path.basename(request.params.name)), names.join(request.query.separator));
  return new Promise((resolve) => setTimeout(resolve, 1));
}

declare function next(): boolean;

const handle = (name: string) => () => console.log(name);

function choose(name: string) {
  return () => console.log(name);
}

export const Rooms = memo(function Rooms({ rooms, dense }: { rooms: string[]; dense: boolean }) {
  const [open, setOpen] = useState<string[]>([]);
  const size = dense ? 1 : 2;
  useEffect(() => {
    const listener = () => setOpen([]);
    if (rooms.length === 0) {
      return;
    }
    document.addEventListener("click", listener);
    return () => document.removeEventListener("click", listener);
  }, [rooms]);
  useEffect(() => {
    const read = async () => setOpen(await Promise.resolve([]));
    void read();
  }, []);
  function add(room: string) {
    const now = [...open];
    now.push(room);
    setOpen(now);
  }
  if (rooms.length === 0) {
    return null;
  }
  return (
    <ul tabIndex={size}>
      {rooms.map((room) => (
        <li key={room} onClick={() => add(room)} onKeyDown={handle(room)} onFocus={choose(room)} />
      ))}
    </ul>
  );
});

export function Wrong({ rooms }: { rooms: string[] }) {
  if (rooms.length > 3) {
    React.useState(0); // want js/conditional-hook
  }
  const [first, setFirst] = useState({ name: rooms[0] });
  const rename = (name: string) => {
    first.name = name; // want js/state-mutated
    setFirst(first);
  };
  return <p onClick={rename("x")}>{first.name}</p>; // want js/handler-called
}
