/** The line in the page's address, such as `#L12`. */
import { useEffect, useState } from 'react';

function lineInAddress(): number | null {
  const [, number] = /^#L([1-9]\d{0,8})$/.exec(location.hash) ?? [];
  return number === undefined ? null : Number(number);
}

/** The line's number (null if there is none), and a function that goes to another line. */
export type TurnedLine = readonly [number | null, (number: number) => void];

/** The line in the address, and a function that replaces it. So going back leads to the previous view, not to the old line. */
export function useLineAddress(): TurnedLine {
  const [addressed, setAddressed] = useState(lineInAddress);
  useEffect(() => {
    const read = () => setAddressed(lineInAddress());
    window.addEventListener('hashchange', read);
    return () => window.removeEventListener('hashchange', read);
  }, []);
  const turn = (number: number) => {
    history.replaceState(history.state, '', `#L${number}`);
    setAddressed(number);
  };
  return [addressed, turn];
}
