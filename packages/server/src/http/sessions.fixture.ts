/** Sessions in memory, for tests of the HTTP side alone. */
import type { Session, SubmissionAnswer } from '@vouchbox/protocol';
import { ServiceError } from '../ground/service-error.ts';
import type { Sessions } from '../job/sessions.ts';

/** The sessions of acme's principal: a single one, named `one`. */
export function memorySessions({ created_at }: Pick<SubmissionAnswer, 'created_at'>): Sessions {
  const session = (name: string): Session => {
    if (name !== 'one') throw new ServiceError('session_not_found', 'The principal has no such session.');
    const jobs = { last_job_id: null, running_job_id: null };
    return { name, language: 'python', ...jobs, created_at, changed_at: created_at };
  };
  return {
    list: async () => ({ items: [session('one')] }),
    session: async (_caller, name) => session(name),
    remove: async (_caller, name) => ({ name: session(name).name, removed: true }),
  };
}
