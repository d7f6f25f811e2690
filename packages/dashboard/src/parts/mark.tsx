/** The mark: a box, and the tick of somebody who vouches for what was in it. The verify page has the same. */
export function Mark() {
  return (
    <svg className="mark" viewBox="0 0 32 32" aria-hidden="true">
      <path d="M20 5H9a4 4 0 0 0-4 4v14a4 4 0 0 0 4 4h14a4 4 0 0 0 4-4v-8" />
      <path d="M11 15l5 5L28 7" />
    </svg>
  );
}
