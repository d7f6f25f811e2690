/** Says that a view failed. The navigation still works, and opening another view tries again. */
import { Component, type ReactNode } from 'react';
import { Failure } from '../parts/failure.tsx';
import { Page } from '../parts/page.tsx';

interface UnexpectedProps {
  /** The address of the view. */
  readonly view: string;
  readonly children: ReactNode;
}

interface UnexpectedState {
  readonly error: unknown;
  /** The address of the view that failed; null if no view did. */
  readonly failed: string | null;
}

/** Shows an error in place of a view. This is a class because React catches errors only in classes. */
export class Unexpected extends Component<UnexpectedProps, UnexpectedState> {
  override readonly state: UnexpectedState = { error: null, failed: null };

  static getDerivedStateFromError(error: unknown): Partial<UnexpectedState> {
    return { error };
  }

  static getDerivedStateFromProps(
    { view }: UnexpectedProps,
    { error, failed }: UnexpectedState,
  ): Partial<UnexpectedState> {
    if (error !== null && failed === null) return { failed: view };
    return failed !== null && failed !== view ? { error: null, failed: null } : {};
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    return (
      <Page title="This view has failed">
        <Failure error={this.state.error} />
      </Page>
    );
  }
}
