/** Libraries that a job brings. The service adds them as an input, and only the cell unpacks that input. */
import {
  LIBRARIES_FILE,
  type Libraries,
  type RequestedSpec,
  type SubmittedFile,
  takesLibraries,
} from '@vouchbox/protocol';
import { refusal } from './refuse.ts';

interface Program extends Pick<RequestedSpec, 'language'> {
  readonly files: readonly SubmittedFile[];
}

/** The program with its libraries among its inputs. The program's language must have a search path for modules. */
export function withLibraries<Parsed extends Program>(program: Parsed, libraries: Libraries): Parsed {
  const { language, files } = program;
  if (!takesLibraries(language))
    throw refusal('invalid_request', '/libraries', `must be left out: a program in ${language} takes none`);
  return { ...program, files: [...files, { path: LIBRARIES_FILE, blob: libraries.blob }] };
}
