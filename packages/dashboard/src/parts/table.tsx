/** A table of facts with a head. The rows are given as `<tr>`. */
import type { ReactNode } from 'react';

export function Table({ columns, children }: { readonly columns: readonly string[]; readonly children: ReactNode }) {
  return (
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
}
