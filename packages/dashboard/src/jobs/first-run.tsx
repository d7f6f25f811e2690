/** Shows a tenant without jobs how to make the first one. */
import { Link } from 'wouter';
import { CopyButton } from '../parts/copy-button.tsx';

export function FirstRun() {
  const command = `vouchbox login --url ${location.origin}\necho 'print(6 * 7)' | vouchbox run --language python -`;
  return (
    <section className="first-run" aria-labelledby="first-run">
      <h2 id="first-run">Run your first program</h2>
      <p>
        Each program runs in a cell of its own, without a network. What it writes is shown as it comes, and when it has
        ended its record is signed.
      </p>
      <Link className="button primary" href="/playground">
        Write a program
      </Link>
      <p>Or from a shell:</p>
      <pre className="source" tabIndex={0} role="region" aria-label="Commands">
        {command}
      </pre>
      <CopyButton text={command} what="the commands" />
    </section>
  );
}
