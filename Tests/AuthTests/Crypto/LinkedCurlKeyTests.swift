#if os(Linux) && LinkedCurl
import Foundation
import Testing

@testable import Errand

@Suite("Keys in a program that libcurl is linked with") struct LinkedCurlKeyTests {
    @Test("the libcrypto that the linked libcurl brings along signs, and no other is opened")
    func linked() throws {
        let library = try #require(LibCrypto.open())
        #expect(library == dlopen(nil, RTLD_NOW))
    }
}
#endif
