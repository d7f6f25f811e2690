/** How a limit that was asked for and became another one is told. */
import type { clampedLimits } from '@vouchbox/protocol/vocabulary';

/** Such as `99999 became 1024, the most that this service allows`. */
export function clampedRemark([, asked, held]: ReturnType<typeof clampedLimits>[number]): string {
  return `${asked} became ${held}, the ${asked > held ? 'most' : 'least'} that this service allows`;
}
