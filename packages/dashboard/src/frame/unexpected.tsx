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
  /** The view that failed; null if none did. */
  readonly failed: string | null;
}

/** React catches errors in classes only. */
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
