import Errand
import ErrandTestSupport
import Testing

@Suite("An archive whose disk hangs", .timeLimit(.minutes(10)))
struct HungArchiveTests {
    @Test("C92 a cancelled save or load returns, says that it was cancelled, and leaves no lock")
    func cancelled() async throws {
        let scratch = try Scratch()
        let archive = ValueArchive<Int>(path: scratch.path("archive"))
        try await archive.save(1)
        let disk = await HeldPlace(scratch.path("archive"))
        let saving = Task {
            await problem { () async throws(ArchiveError) in try await archive.save(2) }
        }
        let loading = Task {
            await problem { () async throws(ArchiveError) in _ = try await archive.load() }
        }
        saving.cancel()
        loading.cancel()
        #expect(await saving.value == .cancelled)
        #expect(await loading.value == .cancelled)
        disk.release()
        #expect(try await archive.load() == 1)
        try await archive.save(3)
        #expect(try await archive.load() == 3)
    }
}
