/** The rights of a credential. Spec § Authentication 3. */
export const SCOPES = ['jobs:submit', 'jobs:read', 'jobs:cancel', 'service:read', 'metrics:read'] as const;
export type Scope = (typeof SCOPES)[number];
