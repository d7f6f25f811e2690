/** The caller: the resolved credential, in the words of GET /v1/whoami. Spec § Authentication 2. */
import type { Whoami } from '@vouchbox/protocol';

export type Caller = Whoami;
