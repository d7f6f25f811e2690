/** A dialog over the page. Without `onClose`, a person must answer it and cannot close it. */
import { Dialog } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import './modal.css';

interface ModalProps {
  readonly title: string;
  readonly isOpen: boolean;
  readonly isWide?: boolean;
  readonly onClose?: () => void;
  readonly children: ReactNode;
}

export function Modal({ title, isOpen, isWide = false, onClose, children }: ModalProps) {
  return (
    <Dialog.Root
      open={isOpen}
      onOpenChange={(open) => open || onClose?.()}
      disablePointerDismissal={onClose === undefined}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="modal-backdrop" />
        <Dialog.Popup className={isWide ? 'modal stack is-wide' : 'modal stack'}>
          <Dialog.Title>{title}</Dialog.Title>
          {children}
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
