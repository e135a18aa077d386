import { staged } from '../../src/search/staged.ts';
import { strategyContract } from '../contracts/strategy.ts';

strategyContract(staged);
