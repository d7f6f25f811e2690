import { expect, it } from 'vitest';
import type { TemplateRequest } from '../../cell/runtime.ts';
import type { Launcher } from './launcher.ts';
import { Templates } from './templates.ts';

class ScriptedLauncher {
  isRetired = false;
  async retire(): Promise<void> {
    this.isRetired = true;
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.isRetired = true;
  }
}

function scripted(open?: (request: TemplateRequest) => Promise<Launcher>) {
  const launchers: ScriptedLauncher[] = [];
  let now = 0;
  const templates = new Templates({
    now: () => now,
    open:
      open ??
      (async () => {
        const launcher = new ScriptedLauncher();
        launchers.push(launcher);
        return launcher as unknown as Launcher;
      }),
  });
  const requestOf = (owner: string) => ({ language: 'python', pack: { name: 'system' }, owner }) as TemplateRequest;
  const ask = (owner: string, times: number) => {
    for (let at = 0; at < times; at++) templates.noteAsked(requestOf(owner));
  };
  const has = async (owner: string) => {
    await new Promise(setImmediate);
    return templates.launcherOf(requestOf(owner)) !== null;
  };
  return { templates, launchers, ask, has, later: (milliseconds: number) => (now += milliseconds) };
}

it('an owner gets a template at the fourth request within ten seconds, and not at the third', async () => {
  const { ask, has, later } = scripted();
  ask('often', 3);
  expect(await has('often')).toBe(false);
  ask('often', 1);
  expect(await has('often')).toBe(true);
  for (let at = 0; at < 8; at++) {
    ask('seldom', 1);
    later(3400);
  }
  expect(await has('seldom')).toBe(false);
});

it("an owner's template is given to no other owner", async () => {
  const { ask, has } = scripted();
  ask('one', 4);
  expect(await has('one')).toBe(true);
  ask('other', 1);
  expect(await has('other')).toBe(false);
});

it('at most sixteen templates are kept; a seventeenth ends the least recently used template', async () => {
  const { ask, has, later, launchers } = scripted();
  for (let at = 0; at < 16; at++) {
    ask(`owner ${at}`, 4);
    await has(`owner ${at}`);
    later(1000);
  }
  ask('newcomer', 4);
  expect(await has('newcomer')).toBe(true);
  expect(await has('owner 0')).toBe(false);
  expect(launchers[0]?.isRetired).toBe(true);
  expect(await has('owner 1')).toBe(true);
});

it('every template that was requested within ten seconds is kept', async () => {
  const { ask, has } = scripted();
  for (let at = 0; at < 17; at++) ask(`owner ${at}`, 4);
  expect(await has('owner 15')).toBe(true);
  expect(await has('owner 16')).toBe(false);
});

it('an owner whose template failed gets no other template for a minute', async () => {
  let tries = 0;
  const { ask, has, later } = scripted(async () => {
    tries++;
    throw new Error('the kernel does not allow it');
  });
  ask('one', 4);
  expect(await has('one')).toBe(false);
  ask('one', 40);
  expect(tries).toBe(1);
  later(60_000);
  ask('one', 40);
  expect(tries).toBe(2);
});

it('disposing ends every template, and no more templates are made', async () => {
  const { templates, ask, has, launchers } = scripted();
  ask('one', 4);
  ask('other', 4);
  expect(await has('other')).toBe(true);
  await templates[Symbol.asyncDispose]();
  expect(launchers.map(({ isRetired }) => isRetired)).toEqual([true, true]);
  ask('late', 9);
  expect(await has('late')).toBe(false);
});

it('one owner gets a template even while the template of another owner cannot be made', async () => {
  const launcher = new ScriptedLauncher() as unknown as Launcher;
  const { ask, has } = scripted(async ({ owner }) => {
    if (owner === 'failing') throw new Error('its pack has no interpreter that copies itself');
    return launcher;
  });
  ask('failing', 4);
  expect(await has('failing')).toBe(false);
  ask('other', 4);
  expect(await has('other')).toBe(true);
});
