/** The bodies of older servers that differ from those of the contract. Spec § Versioning 5. */
import type { JobDetail, Receipt } from './contract-types.ts';

/** A receipt of v0.3, which may not state its tenant. */
export type LegacyReceipt = Omit<Receipt, 'tenant'> & Partial<Pick<Receipt, 'tenant'>>;

/** The detail of a job whose receipt a server of v0.3 sealed. */
export type LegacyJobDetail = Omit<JobDetail, 'receipt'> & { readonly receipt: LegacyReceipt | null };
