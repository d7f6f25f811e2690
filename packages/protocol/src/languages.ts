/** The languages of the contract. Which of them a service has is told by its capabilities. Spec § Job submission. */
export const LANGUAGES = ['python', 'node', 'bash'] as const;
export type Language = (typeof LANGUAGES)[number];
