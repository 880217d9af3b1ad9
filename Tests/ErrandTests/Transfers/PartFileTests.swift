@testable import Errand
import ErrandTestSupport
import Foundation
import Testing

@Suite("The part of a file") struct PartFileTests {
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    @Test("D4: an emptied part has no record: after a kill, the next bytes would be taken for those of the old version")
    func emptied() throws {
        let target = scratch.path("file")
        let part = try PartFile(of: target)
        try part.write(Data("old".utf8), at: 0)
        try scratch.write("{}", to: "file.part.json")
        try part.empty()
        #expect(part.length == 0 && !scratch.exists("file.part.json"))
        part.release()
    }

    @Test("D5: a part that another process has cut or lengthened is not written to", arguments: [2, 9])
    func changed(length: Int) throws {
        let part = try PartFile(of: scratch.path("file"))
        try part.write(Data("first".utf8), at: 0)
        #expect(truncate(scratch.path("file.part"), off_t(length)) == 0)
        let error = #expect(throws: ServiceError.self) { try part.write(Data("second".utf8), at: 5) }
        guard case .transport(let failure) = error else { throw try #require(error) }
        #expect(failure.kind == .file && failure.message.hasSuffix("was changed during the download"))
        #expect(part.length == length)
        part.release()
    }
}
