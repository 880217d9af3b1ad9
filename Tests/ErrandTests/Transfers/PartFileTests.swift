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
}
