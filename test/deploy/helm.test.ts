/** The chart of deploy/helm: what it renders is what Kubernetes takes, and what it starts runs jobs. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServiceClient } from '@vouchbox/client';
import { loadConfig } from '@vouchbox/server';
import { Ajv } from 'ajv';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service, ServiceAccount } from 'kubernetes-models/v1';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Command } from '../rig/command.ts';
import { leftoversOf } from '../rig/leftovers.ts';
import { jobProblems } from './capability-trial.ts';
import { CHART, hasHelm, type Manifest, Renderer, untried } from './chart/rendered-chart.ts';
import { unitCapabilities } from './unit.ts';

const KINDS = { Deployment, HorizontalPodAutoscaler, NetworkPolicy, PodDisruptionBudget, Service, ServiceAccount };

const NEEDED = { database: { existingSecret: 'db' }, attestation: { existingSecret: 'key' } };
const ALL = {
  ...NEEDED,
  secretSettings: { existingSecret: 'more' },
  autoscaling: { enabled: true },
  imagePullSecrets: [{ name: 'registry' }],
  cells: { privileged: false },
  settings: { SERVICE_RATE_PER_SECOND: 0.5, SERVICE_RATE_BURST: 1_000_000, SERVICE_LOG_LEVEL: 'warn' },
  nodeSelector: { pool: 'cells' },
  tolerations: [{ key: 'cells', operator: 'Exists', effect: 'NoSchedule' }],
  podAnnotations: { team: 'a' },
  podLabels: { team: 'a' },
  service: { annotations: { team: 'a' } },
  networkPolicy: {
    from: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    databaseTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
    egress: [{ ports: [{ port: 4318 }] }],
  },
};

let renderer: Renderer;
beforeAll(() => {
  renderer = new Renderer();
});
afterAll(() => renderer[Symbol.dispose]());

const only = (kind: string, values: Readonly<Record<string, unknown>> = NEEDED) =>
  renderer.render(values).find((manifest) => manifest.kind === kind) as Manifest;
const podOf = (values?: Readonly<Record<string, unknown>>) => only('Deployment', values)['spec'].template.spec;
const containerOf = (values?: Readonly<Record<string, unknown>>) => podOf(values).containers[0];
const environmentOf = (values?: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(containerOf(values).env.map(({ name, value }: { name: string; value: string }) => [name, value]));

describe('the values of the chart', () => {
  const isValid = new Ajv({ allowUnionTypes: true }).compile(
    JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')),
  );
  const errorsOf = (values: object) => (isValid(values) ? [] : (isValid.errors ?? []));
  const defaults = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Record<string, unknown>;

  test('are what their schema says, and each has a place in it', () => {
    expect(errorsOf(defaults)).toEqual([]);
    expect(errorsOf({ ...defaults, ...ALL })).toEqual([]);
    const { properties } = isValid.schema as { properties: object };
    expect(Object.keys(properties).toSorted()).toEqual([...Object.keys(defaults), 'global'].toSorted());
  });

  test.each([
    ['an unknown name', { replica: 3 }],
    ['no node', { replicas: 0 }],
    ['a secret among the settings', { settings: { SERVICE_LEGACY_KEYS: 'a=b' } }],
    ['a quantity without a unit that exists', { dataSize: '20GB' }],
  ])('are refused with %s', (_what, changed) => {
    expect(errorsOf({ ...defaults, ...changed })).not.toEqual([]);
  });
});

describe.skipIf(untried !== '')(`what the chart renders${untried}`, () => {
  test.skipIf(!hasHelm)(`passes helm lint${hasHelm ? '' : ' (not tried: helm is not installed)'}`, () => {
    expect(() =>
      execFileSync('helm', [
        'lint',
        '--strict',
        CHART,
        '--set',
        'database.existingSecret=a,attestation.existingSecret=b',
      ]),
    ).not.toThrow();
  });

  test.each([
    ['what it must have', NEEDED, 5],
    ['everything', ALL, 6],
  ])('is valid by the schemas of Kubernetes with %s', (_what, values, count) => {
    const manifests = renderer.render(values);
    expect(manifests).toHaveLength(count);
    for (const manifest of manifests) {
      const Kind = KINDS[manifest.kind as keyof typeof KINDS];
      const { apiVersion, kind, ...members } = manifest;
      const object = new Kind(members as never);
      expect(object).toMatchObject({ apiVersion, kind });
      expect(() => object.validate()).not.toThrow();
    }
  });

  test('is refused without the Secrets that every node needs', () => {
    expect(() => renderer.render({})).toThrow('existingSecret');
    expect(() => renderer.render({ database: { existingSecret: 'db' } })).toThrow('attestation.existingSecret');
  });

  test('gives the service settings that it takes, as they were written', () => {
    expect(() => loadConfig(without(environmentOf(), ['CREDENTIALS_DIRECTORY']))).not.toThrow();
    const environment = environmentOf(ALL);
    expect(() => loadConfig(without(environment, ['CREDENTIALS_DIRECTORY']))).not.toThrow();
    expect(environment).toMatchObject({ SERVICE_RATE_PER_SECOND: '0.5', SERVICE_RATE_BURST: '1000000' });
  });

  test('leaves the service the capabilities of the unit, and gives its account no token', () => {
    const [bounding = ''] = containerOf().command.filter((word: string) => word.startsWith('--bounding-set='));
    const left = bounding
      .split(',')
      .slice(1)
      .map((name: string) => `CAP_${name.slice(1).toUpperCase()}`);
    expect(left).toEqual(unitCapabilities());
    expect(containerOf().command).toContain('--no-new-privs');
    // To give up a capability takes SETPCAP, which is then given up too.
    const added = containerOf(ALL).securityContext.capabilities.add.map((name: string) => `CAP_${name}`);
    expect(added.filter((name: string) => name !== 'CAP_SETPCAP')).toEqual(unitCapabilities());
    expect(podOf().automountServiceAccountToken).toBe(false);
    expect(only('ServiceAccount')['automountServiceAccountToken']).toBe(false);
  });

  test('selects its own pods, and every volume that is mounted exists', () => {
    const { labels } = only('Deployment')['spec'].template.metadata;
    for (const [kind, selector] of [
      ['Deployment', only('Deployment')['spec'].selector.matchLabels],
      ['Service', only('Service')['spec'].selector],
      ['PodDisruptionBudget', only('PodDisruptionBudget')['spec'].selector.matchLabels],
      ['NetworkPolicy', only('NetworkPolicy')['spec'].podSelector.matchLabels],
    ])
      expect({ kind, ...labels }).toMatchObject({ kind, ...selector });
    const volumes = podOf().volumes.map(({ name }: { name: string }) => name);
    for (const container of [...podOf().initContainers, ...podOf().containers])
      for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
  });

  test('starts a service by its own words, with the key that the Secret has, and jobs run isolated', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'vouchbox-pod-'));
    try {
      const { signingKey, publicKey } = secretsIn(scratch);
      const data = join(scratch, 'data');
      const [prepare] = podOf().initContainers;
      const [shell, ...words] = prepare.command;
      execFileSync(shell, words, { env: { ...process.env, DATA: data, KEY: signingKey } });
      const command = [...containerOf().command.slice(0, -1)];
      const env = { ...environmentOf(), SERVICE_HOST: '127.0.0.1', SERVICE_PORT: '0', SERVICE_DATA_DIR: data };
      await using service = new Command(['serve'], {
        within: command,
        env: { ...env, CREDENTIALS_DIRECTORY: join(scratch, 'secrets') },
      });
      const [, url = ''] = await service.shows(/listening on (\S+)/);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
        expect({ probe, status: (await fetch(url + containerOf()[probe].httpGet.path)).status }).toEqual({
          probe,
          status: 200,
        });
      const client = createServiceClient({ baseUrl: url, apiKey: 'key-of-alpha' });
      expect(await jobProblems(client)).toEqual([]);
      expect((await client.publicKey()).public_key_pem.trim()).toBe(publicKey.trim());
      service.kill('SIGTERM');
      expect(await service.ended()).toMatchObject({ code: 0 });
      expect(leftoversOf(data)).toEqual([]);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });
});

function without(environment: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.includes(name)));
}

/** Secrets as the kubelet mounts them: links to files in a folder of which there may be a newer one. */
function secretsIn(scratch: string) {
  const signingKey = join(scratch, 'key');
  mkdirSync(signingKey);
  const privateKey = execFileSync('openssl', ['genpkey', '-algorithm', 'ed25519'], { encoding: 'utf8' });
  writeFileSync(join(signingKey, 'signing-key.pem'), privateKey, { mode: 0o400 });
  const publicKey = execFileSync('openssl', ['pkey', '-pubout'], { input: privateKey, encoding: 'utf8' });
  const secrets = join(scratch, 'secrets');
  mkdirSync(join(secrets, '..2026'), { recursive: true });
  writeFileSync(join(secrets, '..2026/SERVICE_LEGACY_KEYS'), 'alpha=key-of-alpha', { mode: 0o400 });
  execFileSync('ln', ['-s', '..2026', join(secrets, '..data')]);
  execFileSync('ln', ['-s', '..data/SERVICE_LEGACY_KEYS', join(secrets, 'SERVICE_LEGACY_KEYS')]);
  return { signingKey, publicKey };
}
