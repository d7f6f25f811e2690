/** Shows what the service can run, and within which bounds. */
import { useQuery } from '@tanstack/react-query';
import type { Capabilities } from '@vouchbox/client';
import { LIMIT_NAMES, printable } from '@vouchbox/protocol/vocabulary';
import { LIMIT_WORDS, sizeOf } from '@vouchbox/protocol/words';
import { Facts } from '../parts/facts.tsx';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';
import { Panel } from '../parts/panel.tsx';
import { Table } from '../parts/table.tsx';
import { useCapabilities } from '../session/use-capabilities.ts';

export function ServicePage() {
  const { data, error } = useQuery(useCapabilities());
  return (
    <Page title="Capabilities">
      {error !== null && <Failure error={error} />}
      {data && <CapabilityPanels capabilities={data} />}
    </Page>
  );
}

function CapabilityPanels({ capabilities }: { readonly capabilities: Capabilities }) {
  const { version, languages, isolation_class, artifacts, concurrent_mem_mb_max, signer, features } = capabilities;
  return (
    <div className="panels">
      <Panel title="Service">
        <Facts
          facts={[
            ['Version', printable(version)],
            ['Isolation', <code key="is">{isolation_class ?? 'no provider is ready'}</code>],
            ['Languages', languages.join(', ') || 'none'],
            ['Memory of all cells', `${concurrent_mem_mb_max} MiB`],
            [
              'Files of a job',
              `${artifacts.max_files}, ${sizeOf(artifacts.max_file_bytes)} each, ${sizeOf(artifacts.max_total_bytes)} in all`,
            ],
            [
              'Signs with',
              signer === null ? (
                'nothing: this service does not sign'
              ) : (
                <code key="is">{printable(signer.key_id)}</code>
              ),
            ],
          ]}
        />
      </Panel>
      <Limits limits={capabilities.limits} />
      <Packs packs={capabilities.runtime_packs} />
      <Panel title="Features" isWide>
        <p>{features.map((feature) => printable(feature, 60)).join(' · ')}</p>
      </Panel>
    </div>
  );
}

function Limits({ limits: { defaults, ceilings } }: { readonly limits: Capabilities['limits'] }) {
  return (
    <Panel title="Limits">
      <Table columns={['Limit', 'Default', 'Ceiling']}>
        {LIMIT_NAMES.map((name) => (
          <tr key={name}>
            <th scope="row">{LIMIT_WORDS[name]}</th>
            <td className="number">{defaults[name]}</td>
            <td className="number">{ceilings[name]}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}

function librariesOf(libraries: Capabilities['runtime_packs'][number]['libraries']): string {
  if (libraries === undefined) return 'not listed';
  return printable(libraries.map(({ name, version }) => `${name} ${version ?? ''}`.trim()).join(', ') || 'none', 8000);
}

function Packs({ packs }: { readonly packs: Capabilities['runtime_packs'] }) {
  return (
    <Panel title="Runtime packs" isWide>
      {packs.length === 0 && <p className="soft">There are none: programs use the languages of the host.</p>}
      {packs.map(({ name, version, languages, digest, libraries }) => (
        <Facts
          key={name}
          facts={[
            ['Name', printable(name)],
            ['Version', printable(version)],
            ['Languages', languages.join(', ')],
            ['Digest', <code key="is">{printable(digest, 80)}</code>],
            ['Libraries', librariesOf(libraries)],
          ]}
        />
      ))}
    </Panel>
  );
}
