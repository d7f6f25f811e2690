/** Asks the services running on this host to offer a newly built pack, and reports the result. */
import { OperatorError, offerNewPacks, packsDirectoryOf, runningServices } from '@vouchbox/server/administration';
import { note } from '../terminal/print.ts';
import { isSame } from './administered-service.ts';

/** The facts about a pack that was built. */
interface BuiltPack {
  readonly name: string;
  readonly digest: string;
}

/** A service that runs here, and whether it offers the pack. */
interface Offer {
  readonly data_dir: string;
  readonly offered: boolean;
  /** Why the service does not offer the pack or some of its languages; null if the service offers the whole pack. */
  readonly problem: string | null;
}

/** Asks every service that has its packs in this directory. If a service cannot be asked, that is not a failure. */
export async function offerPack(packs: string, pack: BuiltPack): Promise<readonly Offer[]> {
  const services = (await runningServices()).filter((service) => isSame(packsDirectoryOf(service), packs));
  const offers = await Promise.all(services.map(({ dataDir }) => offerBy(dataDir, pack)));
  for (const { data_dir, offered, problem } of offers) {
    note(
      `the service of ${data_dir} ${offered ? 'offers it now' : 'does not offer it'}${problem === null ? '' : `: ${problem}`}`,
    );
  }
  if (offers.length === 0) note('no service with these packs runs: a service offers the pack from its start on');
  return offers;
}

async function offerBy(data_dir: string, { name, digest }: BuiltPack): Promise<Offer> {
  try {
    const { offered, leftOut } = await offerNewPacks(data_dir);
    const problems = leftOut.filter(({ pack }) => pack.split(' ')[0] === name).map(({ problem }) => problem);
    const found = offered.find((pack) => pack.name === name);
    if (found !== undefined && found.digest !== digest) {
      return { data_dir, offered: false, problem: `version ${found.version} is offered until the service restarts` };
    }
    return { data_dir, offered: found !== undefined, problem: problems.join('; ') || null };
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    return { data_dir, offered: false, problem: `${error.message}; ${error.hint}` };
  }
}
