/** A table of facts with a head. The rows are given as `<tr>`. If a table with a label is wider than the page, it scrolls. */
import type { ReactNode } from 'react';

interface Shown {
  readonly columns: readonly string[];
  readonly label?: string;
  readonly children: ReactNode;
}

export function Table({ columns, label, children }: Shown) {
  const table = (
    <table className="table">
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
  if (label === undefined) return table;
  return (
    <div className="scroll-sideways" tabIndex={0} role="region" aria-label={label}>
      {table}
    </div>
  );
}
