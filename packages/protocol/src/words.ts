/** What a result means to the people who read it: the sentences, amounts and pictures that all pages share. */
export * from './words/amounts.ts';
export * from './words/end-words.ts';
export * from './words/limit-words.ts';
export * from './words/picture-type.ts';
export * from './words/posture-words.ts';
