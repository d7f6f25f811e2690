/** What separated the program from the host, in a person's words. It is what was observed, not what was configured. */
import type { JobDetail } from '@vouchbox/client';
import { postureWords } from '../words/posture-words.ts';

export function Posture({ job }: { readonly job: JobDetail }) {
  const said = postureWords(job);
  if (said.length === 0)
    return <p className="soft">Nothing was observed: no program ran, or it has not started yet.</p>;
  return (
    <ul className="posture">
      {said.map(({ sentence, tone, word }) => (
        <li key={word} className={`posture-line is-${tone}`}>
          {sentence} <code className="soft">{word}</code>
        </li>
      ))}
    </ul>
  );
}
