/** What the page does once it is open. */
import './page.css';

document.documentElement.dataset['state'] = 'ready';
