/** The tasks of a node. A service with a single node does all of them there. */

/** `api` serves callers, `executor` runs programs, `signer` signs results. */
export const NODE_ROLES = ['api', 'executor', 'signer'] as const;
export type NodeRole = (typeof NODE_ROLES)[number];
