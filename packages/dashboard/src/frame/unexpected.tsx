/** A fault of a view. The others go on working. */
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';

export function Unexpected({ error }: { readonly error: unknown }) {
  return (
    <Page title="This view has failed">
      <Failure error={error} />
    </Page>
  );
}
