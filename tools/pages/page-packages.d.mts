export const builtPages: string;
export function pagePackages(): readonly string[];
