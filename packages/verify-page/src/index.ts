/** The parts of this page that another page for results uses. */
import './page.css';

export { serveChecks } from './check/check-worker.ts';
export { Checker } from './check/checker.ts';
export type { Findings } from './check/findings.ts';
export { IntakeProblem } from './intake/bounds.ts';
export type { Files } from './intake/export-files.ts';
export { Report } from './report.ts';
export { checksView } from './view/checks.ts';
export { fileNameOf, filesView, save, stream } from './view/content.ts';
export { byId, element, section } from './view/element.ts';
export { postureView } from './view/posture.ts';
export type { ShownVerdict } from './view/verdict.ts';
