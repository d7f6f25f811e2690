/** The chart in deploy/helm: Kubernetes accepts what the chart renders, and each component gets only what it needs. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@vouchbox/server';
import { Ajv } from 'ajv';
import { Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { Service, ServiceAccount } from 'kubernetes-models/v1';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { CHART, hasHelm, type Manifest, Renderer, untried } from './chart/rendered-chart.ts';
import { unitCapabilities } from './unit.ts';

const KINDS = { Deployment, HorizontalPodAutoscaler, NetworkPolicy, PodDisruptionBudget, Service, ServiceAccount };

const COMPONENTS = ['api', 'executor', 'signer'] as const;
type Component = (typeof COMPONENTS)[number];

const NEEDED = { database: { existingSecret: 'db' }, attestation: { existingSecret: 'key' } };
const OF_ALL = {
  nodeSelector: { pool: 'cells' },
  tolerations: [{ key: 'cells', operator: 'Exists', effect: 'NoSchedule' }],
  podAnnotations: { team: 'a' },
  podLabels: { team: 'a' },
};
const ALL = {
  ...NEEDED,
  secretSettings: { existingSecret: 'more' },
  imagePullSecrets: [{ name: 'registry' }],
  settings: { SERVICE_RATE_PER_SECOND: 0.5, SERVICE_RATE_BURST: 1_000_000, SERVICE_LOG_LEVEL: 'warn' },
  api: { ...OF_ALL, autoscaling: { enabled: true } },
  executor: { ...OF_ALL, autoscaling: { enabled: true }, privileged: false },
  signer: OF_ALL,
  service: { annotations: { team: 'a' } },
  networkPolicy: {
    from: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    databaseTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }],
    egress: [{ ports: [{ port: 4318 }] }],
  },
};
/** A setting that the service requires in every configuration with only some roles. */
const PARTIAL = { SERVICE_DATABASE_URL: 'postgres://database/vouchbox' };

let renderer: Renderer;
beforeAll(() => {
  renderer = new Renderer();
});
afterAll(() => renderer[Symbol.dispose]());

type Values = Readonly<Record<string, unknown>>;

const named = (kind: string, name: string, values: Values = NEEDED) =>
  renderer.render(values).find((manifest) => manifest.kind === kind && manifest['metadata'].name === name) as Manifest;
const deploymentOf = (component: Component, values?: Values) => named('Deployment', `box-${component}`, values);
const podOf = (component: Component, values?: Values) => deploymentOf(component, values)['spec'].template.spec;
const containerOf = (component: Component, values?: Values) => podOf(component, values).containers[0];
const environmentOf = (component: Component, values?: Values): Record<string, string> =>
  Object.fromEntries(
    containerOf(component, values).env.map(({ name, value }: { name: string; value: string }) => [name, value]),
  );

describe('the values of the chart', () => {
  const isValid = new Ajv({ allowUnionTypes: true }).compile(
    JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8')),
  );
  const errorsOf = (values: object) => (isValid(values) ? [] : (isValid.errors ?? []));
  const defaults = parse(readFileSync(join(CHART, 'values.yaml'), 'utf8')) as Record<string, unknown>;

  test('fit their schema, and the schema describes each value', () => {
    expect(errorsOf(defaults)).toEqual([]);
    expect(errorsOf(merged(defaults, ALL))).toEqual([]);
    const { properties } = isValid.schema as { properties: object };
    expect(Object.keys(properties).toSorted()).toEqual([...Object.keys(defaults), 'global'].toSorted());
  });

  test.each([
    ['an unknown name', { replicas: 3 }],
    ['an unknown name of a component', { api: { replica: 3 } }],
    ['no executor', { executor: { replicas: 0 } }],
    ['a secret among the settings', { settings: { SERVICE_LEGACY_KEYS: 'a=b' } }],
    ['roles among the settings', { settings: { SERVICE_ROLES: 'api' } }],
    ['a quantity with an unknown unit', { executor: { dataSize: '20GB' } }],
  ])('are refused with %s', (_what, changed) => {
    expect(errorsOf(merged(defaults, changed))).not.toEqual([]);
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
    ['what it must have', NEEDED, 11],
    ['everything', ALL, 13],
  ])('is valid according to the schemas of Kubernetes, with %s', (_what, values, count) => {
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

  test.each(COMPONENTS)('gives the pods of %s their role, and the settings from the values unchanged', (component) => {
    for (const values of [NEEDED, ALL]) {
      const environment = { ...environmentOf(component, values), ...PARTIAL, CREDENTIALS_DIRECTORY: '' };
      expect(loadConfig(environment).roles).toEqual([component]);
    }
    expect(environmentOf(component, ALL)).toMatchObject({
      SERVICE_RATE_PER_SECOND: '0.5',
      SERVICE_RATE_BURST: '1000000',
    });
  });

  test('gives the executor the systemd unit’s capabilities', () => {
    const { command, securityContext } = containerOf('executor', ALL);
    const [bounding = ''] = command.filter((word: string) => word.startsWith('--bounding-set='));
    const left = bounding
      .split(',')
      .slice(1)
      .map((name: string) => `CAP_${name.slice(1).toUpperCase()}`);
    expect(left).toEqual(unitCapabilities());
    expect(command).toContain('--no-new-privs');
    // A process needs SETPCAP to give up capabilities. After that, it gives up SETPCAP too.
    const added = securityContext.capabilities.add.map((name: string) => `CAP_${name}`);
    expect(added.filter((name: string) => name !== 'CAP_SETPCAP')).toEqual(unitCapabilities());
  });

  test.each(['api', 'signer'] as const)(
    'gives the pods of %s no capabilities, and mounts nothing from the node',
    (component) => {
      const { securityContext, initContainers = [], containers, volumes } = podOf(component, ALL);
      expect(securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      for (const container of [...initContainers, ...containers])
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      for (const volume of volumes) expect(volume).not.toHaveProperty('hostPath');
    },
  );

  test('gives the signing key only to signers, and mounts no service account token', () => {
    const holders = COMPONENTS.filter((component) =>
      podOf(component).volumes.some(({ secret }: { secret?: { secretName: string } }) => secret?.secretName === 'key'),
    );
    expect(holders).toEqual(['signer']);
    for (const component of COMPONENTS) expect(podOf(component).automountServiceAccountToken).toBe(false);
    expect(named('ServiceAccount', 'box')['automountServiceAccountToken']).toBe(false);
  });

  test('allows callers network access only to the API', () => {
    const ports = [{ port: 'http' }];
    const rules = (values: Values) =>
      COMPONENTS.map((component) => named('NetworkPolicy', `box-${component}`, values)['spec'].ingress);
    expect(rules(NEEDED)).toEqual([[{ ports, from: [{ podSelector: {} }] }], [], []]);
    const { from, metricsFrom } = ALL.networkPolicy;
    expect(rules(ALL)).toEqual([[{ ports, from }], [{ ports, from: metricsFrom }], [{ ports, from: metricsFrom }]]);
    expect(named('Service', 'box')['spec'].selector).toMatchObject({ 'app.kubernetes.io/component': 'api' });
  });

  test.each(COMPONENTS)('selects only the pods of %s, and has every volume that these pods mount', (component) => {
    const name = `box-${component}`;
    const labelsOf = (other: Component) => deploymentOf(other)['spec'].template.metadata.labels;
    for (const selector of [
      deploymentOf(component)['spec'].selector.matchLabels,
      named('PodDisruptionBudget', name)['spec'].selector.matchLabels,
      named('NetworkPolicy', name)['spec'].podSelector.matchLabels,
    ]) {
      const selected = COMPONENTS.filter((other) =>
        Object.entries(selector).every(([label, value]) => labelsOf(other)[label] === value),
      );
      expect(selected).toEqual([component]);
    }
    const { volumes, initContainers = [], containers } = podOf(component);
    const names = volumes.map((volume: { name: string }) => volume.name);
    for (const container of [...initContainers, ...containers])
      for (const mount of container.volumeMounts) expect(names).toContain(mount.name);
  });

  test('scales the API by its CPU usage, and executors by the queue’s age', () => {
    const metricsOf = (component: Component) =>
      named('HorizontalPodAutoscaler', `box-${component}`, ALL)['spec'].metrics[0];
    expect(metricsOf('api')).toMatchObject({ resource: { name: 'cpu', target: { averageUtilization: 70 } } });
    expect(metricsOf('executor')).toMatchObject({ pods: { metric: { name: 'svc_queue_oldest_age_seconds' } } });
    for (const component of ['api', 'executor'] as const)
      expect(deploymentOf(component, ALL)['spec']).not.toHaveProperty('replicas');
  });
});

/** Merges values as Helm does: a given value replaces a default, member by member. */
function merged(defaults: Values, given: Values): Values {
  const isTree = (value: unknown): value is Values =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = Object.entries(given).map(([name, value]) => {
    const own = defaults[name];
    return [name, isTree(own) && isTree(value) ? merged(own, value) : value];
  });
  return { ...defaults, ...Object.fromEntries(members) };
}
