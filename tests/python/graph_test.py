"""Graphs of launches, from Python."""

import gc
import signal
import unittest
import weakref

import numpy as np
import ptxgraft
from support import ENDLESS, Case, emulator, kernel, skeleton

added = skeleton().graft({"activation": "value scale add.f32 -> value"}, emulator())


class Graphs(Case):
    def setUp(self):
        self.graph = ptxgraft.Graph(emulator())
        self.x = emulator().upload(np.arange(4, dtype=np.float32))
        self.y = emulator().upload(np.zeros(4, np.float32))

    def values(self):
        return self.y.download().tolist()

    def test_launches_run_in_their_order_as_often_as_asked(self):
        self.assertEqual(self.graph.add(kernel(), 1, 4, self.x, self.y, 3.0, 4), 0)
        self.assertEqual(self.graph.add(added, (1, 1), (4, 1), self.y, self.y, np.float32(1), 4), 1)
        self.assertEqual(len(self.graph), 2)
        self.assertEqual(self.values(), [0, 0, 0, 0], "nothing ran")
        self.graph.launch()
        self.assertEqual(self.values(), [1, 4, 7, 10])
        self.x.write(np.ones(4, np.float32))
        self.graph.launch(emulator().create_stream())
        self.assertEqual(self.values(), [4, 4, 4, 4])

    def test_a_launch_is_changed(self):
        self.graph.add(kernel(), 1, 4, self.x, self.y, 3.0, 4)
        self.graph.instantiate()
        self.graph.change(0, added, 1, 4, self.x, self.y, 10.0, 3)
        self.graph.launch()
        self.assertEqual(self.values(), [10, 11, 12, 0])
        self.assertFails("graph_change_not_possible", "", self.graph.add, kernel(), 1, 4, self.x, self.y, 3.0, 4)
        self.assertFails("argument_invalid", "", self.graph.change, 1, kernel(), 1, 4, self.x, self.y, 3.0, 4)
        self.graph.launch()
        self.assertEqual(self.values(), [10, 11, 12, 0])

    def test_what_is_captured(self):
        stream = emulator().create_stream()
        ptxgraft.Graph.begin_capture(stream)
        self.assertFails("argument_invalid", "", ptxgraft.Graph.begin_capture, stream)
        kernel().launch(1, 4, self.x, self.y, 2.0, 4, stream=stream)
        self.assertEqual(self.values(), [0, 0, 0, 0])
        graph = ptxgraft.Graph.end_capture(stream)
        self.assertEqual(len(graph), 1)
        graph.launch()
        self.assertEqual(self.values(), [0, 2, 4, 6])
        graph.change(0, added, 1, 4, self.x, self.y, 2.0, 4)
        graph.launch()
        self.assertEqual(self.values(), [2, 3, 4, 5])
        kernel().launch(1, 4, self.x, self.y, 5.0, 4, stream=stream)
        self.assertEqual(self.values(), [0, 5, 10, 15], "launches run again")

    def test_it_keeps_what_it_needs(self):
        buffer = emulator().upload(np.full(4, 8, np.float32))
        alive = weakref.ref(buffer)
        self.graph.add(kernel(), 1, 4, buffer, self.y, 2.0, 4)
        del buffer
        gc.collect()
        self.assertIsNotNone(alive())
        self.graph.launch()
        self.assertEqual(self.values(), [16, 16, 16, 16])
        self.graph.change(0, kernel(), 1, 4, self.x, self.y, 2.0, 4)
        gc.collect()
        self.assertIsNone(alive())

    def test_arrays_in_place(self):
        device = ptxgraft.Device("emulator", process_memory=True)
        double = skeleton().graft({"activation": "value value add.f32 -> value"}, device)
        x, y = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
        graph = ptxgraft.Graph(device)
        graph.add(double, 1, 4, x, y, 0.0, 4)
        for scale in 1, 10:
            x *= scale
            graph.launch()
            np.testing.assert_array_equal(y, 2 * x)

    def test_wrong_arguments(self):
        add = self.graph.add
        error = self.assertFails("argument_invalid", "upload it first", add, kernel(), 1, 4, self.x, np.zeros(4, np.float32), 1.0, 4)
        self.assertEqual(error.index, 1)
        self.assertFails("argument_count_wrong", "", add, kernel(), 1, 4, self.x)
        self.assertFails("argument_invalid", "argument 3 is 1.5", add, kernel(), 1, 4, self.x, self.y, 1.0, 1.5)
        closed = emulator().allocate(16)
        closed.close()
        self.assertFails("argument_invalid", "the buffer of argument 0 is closed", add, kernel(), 1, 4, closed, self.y, 1.0, 4)
        self.assertEqual(len(self.graph), 0)

    def test_what_a_handler_of_a_signal_raises_ends_a_launch(self):
        def ring(number, frame):
            raise TimeoutError("rang")

        before = signal.signal(signal.SIGALRM, ring)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.graph.add(ptxgraft.Skeleton.from_ptx(ENDLESS).graft({}, emulator()), 1, 1)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with self.assertRaisesRegex(TimeoutError, "rang"):
            self.graph.launch()


if __name__ == "__main__":
    unittest.main()
