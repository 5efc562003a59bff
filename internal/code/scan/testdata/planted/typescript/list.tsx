import React, { useEffect, useState } from 'react';

type Row = { id: string; name: string };

export function Rows({ rows }: { rows: Row[] }) {
  return (
    <ul>
      {rows.map((row) => (
        <li>{row.name}</li> // bug: no key
      ))}
      {rows.map((row) => (
        <li key={row.id}>{row.name}</li>
      ))}
    </ul>
  );
}

export function Count({ rows }: { rows: Row[] }) {
  const [count, setCount] = useState(0);
  const [shown, setShown] = useState(0);
  useEffect(() => { // bug: renders without end
    setCount(count + 1);
  });
  useEffect(() => {
    setShown(rows.length);
  }, [rows]);
  return <b>{count + shown}</b>;
}
