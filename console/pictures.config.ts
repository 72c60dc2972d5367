// How the pictures of README and docs are made: by the same browser as the tests.
import config from './playwright.config';

export default { ...config, testDir: 'pictures', testMatch: 'make.ts' };
