/** Short messages that disappear by themselves, for example when something was copied. */
import { Toast } from '@base-ui/react/toast';
import type { ReactNode } from 'react';
import './toasts.css';

/** How many milliseconds a message is shown. */
const shownMilliseconds = 4000;

export function Toasts({ children }: { readonly children: ReactNode }) {
  return (
    <Toast.Provider timeout={shownMilliseconds}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="toasts">
          <ShownToasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ShownToasts() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((toast) => (
    <Toast.Root key={toast.id} toast={toast} className="toast">
      <Toast.Title className="toast-title" />
    </Toast.Root>
  ));
}

/** Shows a message. */
export function useToast(): (title: string) => void {
  const { add } = Toast.useToastManager();
  return (title) => void add({ title });
}
